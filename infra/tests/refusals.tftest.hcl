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
  }

  expect_failures = [
    var.memory_size,
    var.concurrency_value,
    var.ephemeral_storage_mb,
    var.timeout_s,
    var.range_parallel,
    var.range_part_mb,
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
    architecture       = "arm"
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
    var.architecture,
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
  }

  expect_failures = [
    var.s3_bucket_name,
    var.s3_file_name,
    var.experiment_tag,
    var.region,
    var.prefix,
    var.sink,
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

run "filesystem_too_small" {
  command = plan

  variables {
    large_file_mb = 0
    small_files   = 0
    subnet_count  = 0
  }

  expect_failures = [
    var.large_file_mb,
    var.small_files,
    var.subnet_count,
  ]
}

run "filesystem_fractions_and_too_large" {
  command = plan

  variables {
    large_file_mb = 1.5
    small_files   = 100001
    subnet_count  = 7
  }

  expect_failures = [
    var.large_file_mb,
    var.small_files,
    var.subnet_count,
  ]
}

run "filesystem_unknown_words" {
  command = plan

  variables {
    storage         = "S3"
    read_method     = "boto3"
    cache           = ""
    throughput_mode = "provisioned"
    direct_s3_read  = "ENABLED"
  }

  expect_failures = [
    var.storage,
    var.read_method,
    var.cache,
    var.throughput_mode,
    var.direct_s3_read,
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
