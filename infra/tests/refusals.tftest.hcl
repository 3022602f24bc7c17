# Every bad value is refused before anything is planned. Values that don't depend on each other share a run.
# tests/terraform/test_configuration.py runs these again without expect_failures and reads the messages: each must give the
# variable's name, its value and the rule.

mock_provider "aws" {
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/made-up" }
  }

  mock_data "aws_availability_zones" {
    defaults = { names = ["us-east-1a", "us-east-1b"] }
  }

  mock_data "aws_ec2_instance_type_offerings" {
    defaults = { locations = ["us-east-1a"] }
  }
}

run "too_small" {
  command = plan

  variables {
    s3_bucket_name       = "ab"
    s3_file_name         = ""
    memory_size          = 127
    experiment_tag       = ""
    concurrency_value    = 0
    prefix               = "s"
    ephemeral_storage_mb = 511
    object_size_mb       = 64
    timeout_s            = 0
    log_retention_days   = 0
    range_parallel       = 0
    range_part_mb        = 15
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.memory_size,
    var.experiment_tag,
    var.concurrency_value,
    var.prefix,
    var.ephemeral_storage_mb,
    var.timeout_s,
    var.log_retention_days,
    var.range_parallel,
    var.range_part_mb,
  ]
}

run "too_large" {
  command = plan

  # 64, 5 x 5 x 41 and 257 characters; OpenTofu's tests don't call functions, or format() would make them.
  variables {
    s3_bucket_name       = "0000000000000000000000000000000000000000000000000000000000000000"
    s3_file_name         = "%{for a in [1, 2, 3, 4, 5]}%{for b in [1, 2, 3, 4, 5]}00000000000000000000000000000000000000000%{endfor}%{endfor}"
    memory_size          = 10241
    experiment_tag       = "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    concurrency_value    = 100001
    prefix               = "stampede-of-elephants"
    ephemeral_storage_mb = 10241
    timeout_s            = 901
    range_parallel       = 65
    range_part_mb        = 65
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.memory_size,
    var.experiment_tag,
    var.concurrency_value,
    var.prefix,
    var.ephemeral_storage_mb,
    var.timeout_s,
    var.range_parallel,
    var.range_part_mb,
  ]
}

run "fractions" {
  command = plan

  variables {
    memory_size          = 1024.5
    concurrency_value    = 1.5
    ephemeral_storage_mb = 1200.5
    timeout_s            = 60.5
    range_parallel       = 1.5
    range_part_mb        = 16.5

    region            = "cn-north-1"
    server_side_proof = true
  }

  expect_failures = [
    var.memory_size,
    var.concurrency_value,
    var.ephemeral_storage_mb,
    var.timeout_s,
    var.range_parallel,
    var.range_part_mb,
    var.server_side_proof,
  ]
}

run "capitals_slashes_quotes" {
  command = plan

  variables {
    s3_bucket_name     = "My-Bucket"
    s3_file_name       = "/data.bin"
    experiment_tag     = "run \"one\""
    experiment         = "upload"
    region             = "us_east_1"
    prefix             = "Stampede"
    log_retention_days = 8
    method             = "Stream"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.experiment,
    var.region,
    var.prefix,
    var.log_retention_days,
    var.method,
  ]
}

run "addresses_wildcards_backslashes" {
  command = plan

  variables {
    s3_bucket_name = "192.168.0.1"
    s3_file_name   = "data*"
    experiment_tag = "run\\one"
    region         = ""
    prefix         = "stampede-"
    sink           = "/tmp"
    architecture   = "arm"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.region,
    var.prefix,
    var.sink,
    var.architecture,
  ]
}

run "dots_policy_variables_line_breaks" {
  command = plan

  variables {
    s3_bucket_name = "my..bucket"
    s3_file_name   = "$${aws:username}"
    experiment_tag = "run\none"
    prefix         = "xn--stampede"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.prefix,
  ]
}

run "reserved_folders_accents" {
  command = plan

  variables {
    s3_bucket_name = "data-s3alias"
    s3_file_name   = "data/"
    experiment_tag = "expérience"
    prefix         = "1stampede"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.prefix,
  ]
}

run "no_bucket_name_at_all" {
  command = plan

  variables {
    s3_bucket_name = ""
    object_size_mb = 0
  }

  expect_failures = [
    var.s3_bucket_name,
    var.object_size_mb,
  ]
}

# N above 1000, a visibility timeout below 6 x the function's, and a /tmp below the object + 64 MB: all one step too far.
run "n_above_1000_without_pollers" {
  command = plan

  variables {
    concurrency_value    = 1001
    visibility_timeout_s = 359
    ephemeral_storage_mb = 1087
  }

  expect_failures = [
    var.concurrency_value,
    var.visibility_timeout_s,
    var.ephemeral_storage_mb,
  ]
}

# The object doesn't fit: reported for the storage, at its default.
run "cap_above_the_reserved_concurrency" {
  command = plan

  variables {
    maximum_concurrency  = 6
    concurrency_value    = 5
    visibility_timeout_s = 43201
    object_size_mb       = 1137
  }

  expect_failures = [
    var.maximum_concurrency,
    var.visibility_timeout_s,
    var.ephemeral_storage_mb,
  ]
}

run "cap_above_2_for_one_function" {
  command = plan

  variables {
    maximum_concurrency = 3
  }

  expect_failures = [
    var.maximum_concurrency,
  ]
}

run "cap_together_with_pollers" {
  command = plan

  variables {
    maximum_concurrency  = 5
    concurrency_value    = 5
    provisioned_pollers  = { minimum = 2, maximum = 20 }
    timeout_s            = 61
    visibility_timeout_s = 360
  }

  expect_failures = [
    var.maximum_concurrency,
    var.visibility_timeout_s,
  ]
}

run "cap_below_2" {
  command = plan

  variables {
    maximum_concurrency  = 1
    visibility_timeout_s = 360.5
    object_size_mb       = 0.5
  }

  expect_failures = [
    var.maximum_concurrency,
    var.visibility_timeout_s,
    var.object_size_mb,
  ]
}

run "cap_above_1000" {
  command = plan

  variables {
    maximum_concurrency = 1001
    concurrency_value   = 1000
  }

  expect_failures = [
    var.maximum_concurrency,
  ]
}

run "pollers_minimum_below_2" {
  command = plan

  variables {
    provisioned_pollers = { minimum = 1, maximum = 20 }
  }

  expect_failures = [
    var.provisioned_pollers,
  ]
}

run "pollers_maximum_above_10000" {
  command = plan

  variables {
    provisioned_pollers = { minimum = 2, maximum = 10001 }
  }

  expect_failures = [
    var.provisioned_pollers,
  ]
}

run "pollers_minimum_above_200" {
  command = plan

  variables {
    provisioned_pollers = { minimum = 201, maximum = 300 }
  }

  expect_failures = [
    var.provisioned_pollers,
  ]
}

run "pollers_minimum_above_maximum" {
  command = plan

  variables {
    provisioned_pollers = { minimum = 30, maximum = 20 }
  }

  expect_failures = [
    var.provisioned_pollers,
  ]
}

# One invocation more than 150 pollers have at once.
run "pollers_too_few_for_n" {
  command = plan

  variables {
    concurrency_value   = 1501
    provisioned_pollers = { minimum = 2, maximum = 150 }
  }

  expect_failures = [
    var.concurrency_value,
  ]
}

# The published way and the CRT write a file.
run "download_file_to_nowhere" {
  command = plan

  variables {
    sink = "discard"
  }

  expect_failures = [
    var.sink,
  ]
}

run "crt_to_memory" {
  command = plan

  variables {
    method      = "crt"
    sink        = "memory"
    memory_size = 10240
  }

  expect_failures = [
    var.sink,
  ]
}

# One MB less than the object and what the function needs besides; and /tmp, which isn't used then, may be as small as it is.
run "an_object_larger_than_the_memory" {
  command = plan

  variables {
    method               = "go_ranges"
    memory_size          = 1151
    ephemeral_storage_mb = 512
  }

  expect_failures = [
    var.memory_size,
  ]
}

run "go_to_a_small_tmp" {
  command = plan

  variables {
    method               = "go_stream"
    sink                 = "tmp"
    ephemeral_storage_mb = 1087
  }

  expect_failures = [
    var.ephemeral_storage_mb,
  ]
}

run "filesystem_and_express_too_small" {
  command = plan

  variables {
    large_file_mb       = 0
    small_files         = 0
    subnet_count        = 0
    objects_per_folder  = 0
    scan_limit_mb       = 9
    query_limit_s       = 0
    express_bucket_name = "my-bucket"
  }

  expect_failures = [
    var.large_file_mb,
    var.small_files,
    var.subnet_count,
    var.objects_per_folder,
    var.scan_limit_mb,
    var.query_limit_s,
    var.express_bucket_name,
  ]
}

run "filesystem_and_express_fractions_and_too_large" {
  command = plan

  variables {
    large_file_mb      = 1.5
    small_files        = 100001
    subnet_count       = 7
    objects_per_folder = 1000001
    scan_limit_mb      = 10485761
    query_limit_s      = 60.5
  }

  expect_failures = [
    var.large_file_mb,
    var.small_files,
    var.subnet_count,
    var.objects_per_folder,
    var.scan_limit_mb,
    var.query_limit_s,
  ]
}

run "filesystem_and_express_unknown_words" {
  command = plan

  variables {
    storage            = "S3"
    read_method        = "boto3"
    cache              = ""
    throughput_mode    = "provisioned"
    direct_s3_read     = "ENABLED"
    objects_per_folder = 1.5
    operation          = "read"
    placement          = "same-zone"
    zone_id            = "us-east-1a"
  }

  expect_failures = [
    var.storage,
    var.read_method,
    var.cache,
    var.throughput_mode,
    var.direct_s3_read,
    var.objects_per_folder,
    var.operation,
    var.placement,
    var.zone_id,
  ]
}

# A file system that isn't there to be mounted.
run "s3_files_not_put_up" {
  command = plan

  variables {
    experiment = "filesystem"
    storage    = "s3files"
  }

  expect_failures = [
    var.storage,
  ]
}

run "s3_files_with_the_download" {
  command = plan

  variables {
    with_s3files = true
  }

  expect_failures = [
    var.with_s3files,
  ]
}

# Into the published /tmp of 1228 MB go at most 1164 MiB: one large file, or 21,163 small ones.
run "a_large_file_that_does_not_fit" {
  command = plan

  variables {
    experiment    = "filesystem"
    large_file_mb = 1165
  }

  expect_failures = [
    var.ephemeral_storage_mb,
  ]
}

run "small_files_that_do_not_fit" {
  command = plan

  variables {
    experiment           = "filesystem"
    small_files          = 21164
    ephemeral_storage_mb = 1228
  }

  expect_failures = [
    var.ephemeral_storage_mb,
  ]
}

run "copy_too_small" {
  command = plan

  variables {
    object_count = 0
    object_bytes = 0
    masters      = 0
    slice_rows   = 0
    data_seed    = -1
  }

  expect_failures = [
    var.object_count,
    var.object_bytes,
    var.masters,
    var.slice_rows,
    var.data_seed,
  ]
}

# 5 GB (5368709120 bytes) is the most that one CopyObject copies. The bucket's name has 64 characters.
run "copy_and_express_too_large" {
  command = plan

  variables {
    object_count        = 100000001
    object_bytes        = 5368709121
    masters             = 1001
    slice_rows          = 100001
    data_seed           = 4294967296
    express_bucket_name = "000000000000000000000000000000000000000000000000--use1-az4--x-s3"
  }

  expect_failures = [
    var.object_count,
    var.object_bytes,
    var.masters,
    var.slice_rows,
    var.data_seed,
    var.express_bucket_name,
  ]
}

run "copy_fractions_and_unknown_words" {
  command = plan

  variables {
    object_count  = 1.5
    object_bytes  = 1.5
    masters       = 1.5
    slice_rows    = 1.5
    data_seed     = 1.5
    key_order     = "reversed"
    instance_type = "m5a"
  }

  expect_failures = [
    var.object_count,
    var.object_bytes,
    var.masters,
    var.slice_rows,
    var.data_seed,
    var.key_order,
    var.instance_type,
  ]
}

run "a_first_day_that_is_in_no_calendar" {
  command = plan

  variables {
    date_from = "2015-02-29"
  }

  expect_failures = [
    var.date_from,
  ]
}

run "a_last_day_in_other_words" {
  command = plan

  variables {
    date_to = "31 December 2019"
  }

  expect_failures = [
    var.date_to,
  ]
}

run "days_in_the_wrong_order" {
  command = plan

  variables {
    date_from = "2015-01-02"
    date_to   = "2015-01-01"
  }

  expect_failures = [
    var.date_to,
  ]
}

run "copies_by_two_functions_that_each_empty_the_destination" {
  command = plan

  variables {
    experiment        = "copy"
    concurrency_value = 2
  }

  expect_failures = [
    var.concurrency_value,
  ]
}

# The published range has 43,824 hours, of 5 objects each.
run "one_object_more_than_fits_into_the_folders" {
  command = plan

  variables {
    experiment    = "copy"
    from_manifest = true
    object_count  = 219121
  }

  expect_failures = [
    var.object_count,
  ]
}

run "hosts_whose_own_count_does_not_fit_into_a_leap_year" {
  command = plan

  variables {
    experiment = "copy_host"
    date_from  = "2016-01-01"
    date_to    = "2016-12-31"
  }

  expect_failures = [
    var.object_count,
  ]
}

# More hours than Terraform can count.
run "an_object_in_each_of_ten_thousand_years_hours" {
  command = plan

  variables {
    experiment         = "copy_host"
    object_count       = 100000000
    objects_per_folder = 1
    date_from          = "0001-01-01"
    date_to            = "9999-12-30"
  }

  expect_failures = [
    var.object_count,
  ]
}

run "a_processor_that_the_hosts_do_not_have" {
  command = plan

  variables {
    experiment   = "copy_host"
    architecture = "arm64"
  }

  expect_failures = [
    var.architecture,
  ]
}

# What another experiment would leave unused.
run "a_manifest_and_a_key_for_the_download" {
  command = plan

  variables {
    from_manifest = true
    bucket_key    = false
  }

  expect_failures = [
    var.from_manifest,
    var.bucket_key,
  ]
}

run "a_zone_of_another_region" {
  command = plan

  variables {
    experiment = "express"
    region     = "eu-north-1"
    zone_id    = "use1-az4"
  }

  expect_failures = [
    var.zone_id,
  ]
}

run "a_region_without_express" {
  command = plan

  variables {
    experiment = "express"
    region     = "eu-south-1"
  }

  expect_failures = [
    var.zone_id,
  ]
}

run "a_directory_bucket_of_another_zone" {
  command = plan

  variables {
    experiment          = "express"
    express_bucket_name = "my-own--use1-az4--x-s3"
    zone_id             = "use1-az5"
  }

  expect_failures = [
    var.express_bucket_name,
  ]
}
