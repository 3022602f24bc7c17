# Amazon S3 Files: an NFS file system over a versioned bucket. The AWS provider supports it since April 2026, after 6.34, so
# CloudFormation makes it. Once terraform.tf requires a later version, four resources can replace these stacks.
#
# Never run on AWS so far: cfn-lint checks the templates, and plans check the rest.
module "bucket" {
  source = "../bucket"

  name      = var.bucket_name
  partition = var.partition
  versioned = true
}

resource "aws_cloudformation_stack" "file_system" {
  #checkov:skip=CKV_AWS_124:Terraform waits for the stack and reports how it ended.
  name          = var.name
  template_body = file("${path.module}/file_system.yaml")
  on_failure    = "DELETE"

  parameters = {
    BucketArn = module.bucket.arn
    RoleArn   = aws_iam_role.synchronisation.arn
    Name      = var.name
  }

  depends_on = [aws_iam_role_policy.synchronisation, module.bucket]
}

resource "aws_cloudformation_stack" "mount_target" {
  #checkov:skip=CKV_AWS_124:Terraform waits for the stack and reports how it ended.
  count = length(var.subnet_ids)

  name          = "${var.name}-mount-target-${count.index}"
  template_body = file("${path.module}/mount_target.yaml")
  on_failure    = "DELETE"

  parameters = {
    FileSystemId    = aws_cloudformation_stack.file_system.outputs["FileSystemId"]
    SubnetId        = var.subnet_ids[count.index]
    SecurityGroupId = var.security_group_id
  }
}
