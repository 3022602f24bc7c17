# Bad texts and bad combinations of values are refused before a plan. Independent values share a run.
# tests/terraform/test_configuration.py adds runs that break each bound and choice of rules*.json, and runs all without
# expect_failures: each message must give the variable's name, its value and the rule.

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

# The download supports none of these, and China has no access logs.
run "what_another_experiment_has" {
  command = plan

  variables {
    region              = "cn-north-1"
    server_side_proof   = true
    instance_type       = "m5a"
    express_bucket_name = "my-bucket"
    from_manifest       = true
    bucket_key          = false
    with_s3files        = true
    batching_window_s   = 1
    subnet_ids          = ["subnet-0123456789abcdef0"]
    security_group_ids  = ["sg-0123456789abcdef0"]
    date_from           = "2015-02-29"
    sink                = "discard"
  }

  expect_failures = [
    var.server_side_proof,
    var.instance_type,
    var.express_bucket_name,
    var.from_manifest,
    var.bucket_key,
    var.with_s3files,
    var.batching_window_s,
    var.subnet_ids,
    var.date_from,
    var.sink,
  ]
}

# 150 pollers have 1,500 invocations at once. The CRT writes a file.
run "other_words_and_names" {
  command = plan

  variables {
    date_to             = "31 December 2019"
    subnet_ids          = ["private"]
    batch_size          = 5
    s3_bucket_name      = "my-own"
    existing_bucket     = true
    object_kms_key_arn  = "alias/mine"
    concurrency_value   = 1501
    provisioned_pollers = { minimum = 2, maximum = 150 }
    method              = "crt"
    sink                = "memory"
    memory_size         = 10240
    package             = "nowhere.zip"
    handler             = "handler"
    policy_file         = "tests/refusals.tftest.hcl"
    environment         = { AWS_REGION = "us-east-1" }
    layers              = ["numpy"]
  }

  expect_failures = [
    var.date_to,
    var.subnet_ids,
    var.batch_size,
    var.object_kms_key_arn,
    var.concurrency_value,
    var.sink,
    var.package,
    var.handler,
    var.policy_file,
    var.environment,
    var.layers,
  ]
}

# N above 1000, a visibility timeout below 6 x the function's, and a /tmp below the object + 64 MB, all by one step.
run "n_above_1000_without_pollers" {
  command = plan

  variables {
    concurrency_value    = 1001
    visibility_timeout_s = 359
    ephemeral_storage_mb = 1087
    security_group_ids   = ["default"]
    object_kms_key_arn   = "arn:aws:kms:us-east-1:123456789012:key/1234"
    requester_pays       = true
  }

  expect_failures = [
    var.concurrency_value,
    var.object_kms_key_arn,
    var.requester_pays,
    var.security_group_ids,
    var.visibility_timeout_s,
    var.ephemeral_storage_mb,
  ]
}

# The object doesn't fit: reported for the storage, at its default. A user's own object has no access logs.
run "a_cap_above_n_and_days_in_the_wrong_order" {
  command = plan

  variables {
    maximum_concurrency = 6
    concurrency_value   = 5
    object_size_mb      = 1137
    date_from           = "2015-01-02"
    date_to             = "2015-01-01"
    s3_bucket_name      = "my-own"
    existing_bucket     = true
    server_side_proof   = true
  }

  expect_failures = [
    var.maximum_concurrency,
    var.ephemeral_storage_mb,
    var.date_to,
    var.existing_bucket,
  ]
}

run "a_cap_together_with_pollers" {
  command = plan

  variables {
    maximum_concurrency  = 5
    concurrency_value    = 5
    provisioned_pollers  = { minimum = 2, maximum = 20 }
    timeout_s            = 61
    visibility_timeout_s = 360
    method               = "go_stream"
    sink                 = "tmp"
    ephemeral_storage_mb = 1087
  }

  expect_failures = [
    var.maximum_concurrency,
    var.visibility_timeout_s,
    var.ephemeral_storage_mb,
  ]
}

# One MB less than the object and the function need. The unused /tmp may be this small.
run "an_object_larger_than_the_memory" {
  command = plan

  variables {
    method               = "go_ranges"
    memory_size          = 1151
    ephemeral_storage_mb = 512
    provisioned_pollers  = { minimum = 30, maximum = 20 }
  }

  expect_failures = [
    var.memory_size,
    var.provisioned_pollers,
  ]
}

# Nor does the file system exist to be mounted.
run "a_large_file_that_does_not_fit" {
  command = plan

  variables {
    experiment     = "filesystem"
    storage        = "s3files"
    large_file_mb  = 1165
    s3_bucket_name = ""
  }

  expect_failures = [
    var.storage,
    var.s3_bucket_name,
    var.ephemeral_storage_mb,
  ]
}

run "small_files_that_do_not_fit" {
  command = plan

  variables {
    experiment           = "filesystem"
    small_files          = 22200
    ephemeral_storage_mb = 1228
  }

  expect_failures = [
    var.ephemeral_storage_mb,
  ]
}

run "copies_by_two_functions_that_each_empty_the_destination" {
  command = plan

  variables {
    experiment        = "copy"
    concurrency_value = 2
    s3_bucket_name    = "my-own"
    existing_bucket   = true
  }

  expect_failures = [
    var.concurrency_value,
    var.existing_bucket,
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

# Types with another processor.
run "hosts_whose_own_count_does_not_fit_into_a_leap_year" {
  command = plan

  variables {
    experiment   = "copy_host"
    date_from    = "2016-01-01"
    date_to      = "2016-12-31"
    architecture = "arm64"
  }

  expect_failures = [
    var.object_count,
    var.architecture,
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

# Its timeout_s is 30: 6 x 30 s and the window, less a second.
run "a_function_without_its_package" {
  command = plan

  variables {
    experiment           = "function"
    batching_window_s    = 20
    visibility_timeout_s = 199
  }

  expect_failures = [
    var.package,
    var.visibility_timeout_s,
  ]
}

# One function has two invocations at once at most.
run "a_region_without_express" {
  command = plan

  variables {
    experiment          = "express"
    region              = "eu-south-1"
    maximum_concurrency = 3
  }

  expect_failures = [
    var.zone_id,
    var.maximum_concurrency,
  ]
}

# Nothing is gathered for its batch, and its subnets lack a security group.
run "a_program_without_its_bootstrap" {
  command = plan

  variables {
    experiment = "function"
    runtime    = "provided.al2023"
    package    = "tests"
    handler    = "my handler"
    batch_size = 11
    subnet_ids = ["subnet-0123456789abcdef0"]
  }

  expect_failures = [
    var.package,
    var.handler,
    var.batch_size,
    var.security_group_ids,
  ]
}
