# An object of the user's own: one permission to read it, and nothing of its bucket is managed.

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }

  override_resource {
    target = module.queue.aws_sqs_queue.work
    values = {
      arn = "arn:aws:sqs:us-east-1:123456789012:work"
      url = "https://sqs.us-east-1.amazonaws.com/123456789012/work"
    }
  }
}

run "an_object_of_a_bucket_that_is_there" {
  variables {
    s3_bucket_name     = "my-own"
    s3_file_name       = "models/day=1/v3 (final)+more.bin"
    existing_bucket    = true
    object_kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/1234"
    requester_pays     = true
  }

  assert {
    condition     = length(module.bucket) == 0 && output.bucket_name == "my-own" && output.existing_bucket && output.requester_pays
    error_message = "no bucket is managed"
  }

  assert {
    condition = local.download.statements == [
      {
        Sid      = "ReadTheObject"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "arn:aws:s3:::my-own/models/day=1/v3 (final)+more.bin"
      },
      {
        Sid       = "DecryptIt"
        Effect    = "Allow"
        Action    = "kms:Decrypt"
        Resource  = "arn:aws:kms:us-east-1:123456789012:key/1234"
        Condition = { StringEquals = { "kms:ViaService" = "s3.us-east-1.amazonaws.com" } }
      },
    ]
    error_message = "one object is read, and decrypted by its key through S3 alone"
  }
}
