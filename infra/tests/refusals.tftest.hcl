# Bad texts, and values that don't go together, are refused before anything is planned. Values that don't depend on each other
# share a run. tests/terraform/test_configuration.py adds runs that break each bound and each choice of rules*.json, runs all of
# them without expect_failures and reads the messages: each must give the variable's name, its value and the rule.

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

run "too_short" {
  command = plan

  variables {
    s3_bucket_name = "ab"
    s3_file_name   = ""
    experiment_tag = ""
    prefix         = "s"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.prefix,
  ]
}

run "too_long" {
  command = plan

  # 64, 5 x 5 x 41, 257, 21 and 64 characters; OpenTofu's tests don't call functions, or format() would make them.
  variables {
    s3_bucket_name      = "0000000000000000000000000000000000000000000000000000000000000000"
    s3_file_name        = "%{for a in [1, 2, 3, 4, 5]}%{for b in [1, 2, 3, 4, 5]}00000000000000000000000000000000000000000%{endfor}%{endfor}"
    experiment_tag      = "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    prefix              = "stampede-of-elephants"
    express_bucket_name = "000000000000000000000000000000000000000000000000--use1-az4--x-s3"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.prefix,
    var.express_bucket_name,
  ]
}

run "access_logs_in_china" {
  command = plan

  variables {
    region            = "cn-north-1"
    server_side_proof = true
  }

  expect_failures = [
    var.server_side_proof,
  ]
}

run "capitals_slashes_quotes" {
  command = plan

  variables {
    s3_bucket_name = "My-Bucket"
    s3_file_name   = "/data.bin"
    experiment_tag = "run \"one\""
    region         = "us_east_1"
    prefix         = "Stampede"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.region,
    var.prefix,
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
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.region,
    var.prefix,
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
    zone_id        = "us-east-1a"
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.prefix,
    var.zone_id,
  ]
}

run "names_of_another_form" {
  command = plan

  variables {
    instance_type       = "m5a"
    express_bucket_name = "my-bucket"
  }

  expect_failures = [
    var.instance_type,
    var.express_bucket_name,
  ]
}

run "no_bucket_name_at_all" {
  command = plan

  variables {
    s3_bucket_name = ""
  }

  expect_failures = [
    var.s3_bucket_name,
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
    maximum_concurrency = 6
    concurrency_value   = 5
    object_size_mb      = 1137
  }

  expect_failures = [
    var.maximum_concurrency,
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

run "a_function_without_its_package" {
  command = plan

  variables {
    experiment = "function"
  }

  expect_failures = [
    var.package,
  ]
}

run "a_program_without_its_bootstrap" {
  command = plan

  variables {
    experiment = "function"
    runtime    = "provided.al2023"
    package    = "tests"
    handler    = "my handler"
  }

  expect_failures = [
    var.package,
    var.handler,
  ]
}

run "a_function_of_nothing" {
  command = plan

  variables {
    package     = "nowhere.zip"
    handler     = "handler"
    policy_file = "tests/refusals.tftest.hcl"
    environment = { AWS_REGION = "us-east-1" }
    layers      = ["numpy"]
  }

  expect_failures = [
    var.package,
    var.handler,
    var.policy_file,
    var.environment,
    var.layers,
  ]
}

run "an_own_object_of_another_experiment" {
  command = plan

  variables {
    experiment      = "copy"
    s3_bucket_name  = "my-own"
    existing_bucket = true
  }

  expect_failures = [
    var.existing_bucket,
  ]
}

run "an_alias_of_a_key" {
  command = plan

  variables {
    s3_bucket_name     = "my-own"
    existing_bucket    = true
    object_kms_key_arn = "alias/mine"
  }

  expect_failures = [
    var.object_kms_key_arn,
  ]
}

run "an_own_object_of_which_access_logs_are_wanted" {
  command = plan

  variables {
    s3_bucket_name    = "my-own"
    existing_bucket   = true
    server_side_proof = true
  }

  expect_failures = [
    var.existing_bucket,
  ]
}

run "what_only_an_own_object_has" {
  command = plan

  variables {
    object_kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/1234"
    requester_pays     = true
  }

  expect_failures = [
    var.object_kms_key_arn,
    var.requester_pays,
  ]
}

run "batches_of_the_download" {
  command = plan

  variables {
    batch_size = 5
  }

  expect_failures = [
    var.batch_size,
  ]
}

run "a_window_of_the_download" {
  command = plan

  variables {
    batching_window_s = 1
  }

  expect_failures = [
    var.batching_window_s,
  ]
}

run "a_large_batch_that_nothing_is_gathered_for" {
  command = plan

  variables {
    experiment = "function"
    package    = "tests"
    batch_size = 11
  }

  expect_failures = [
    var.batch_size,
  ]
}

# timeout_s is 30 here: 6 x 30 s and the window, less a second.
run "a_message_that_is_visible_again_within_its_window" {
  command = plan

  variables {
    experiment           = "function"
    package              = "tests"
    batching_window_s    = 20
    visibility_timeout_s = 199
  }

  expect_failures = [
    var.visibility_timeout_s,
  ]
}

run "subnets_of_the_download" {
  command = plan

  variables {
    subnet_ids         = ["subnet-0123456789abcdef0"]
    security_group_ids = ["sg-0123456789abcdef0"]
  }

  expect_failures = [
    var.subnet_ids,
  ]
}

run "subnets_without_a_security_group" {
  command = plan

  variables {
    experiment = "function"
    package    = "tests"
    subnet_ids = ["subnet-0123456789abcdef0"]
  }

  expect_failures = [
    var.security_group_ids,
  ]
}

run "names_where_ids_belong" {
  command = plan

  variables {
    subnet_ids = ["private"]
  }

  expect_failures = [
    var.subnet_ids,
  ]
}

run "a_security_groups_name" {
  command = plan

  variables {
    security_group_ids = ["default"]
  }

  expect_failures = [
    var.security_group_ids,
  ]
}
