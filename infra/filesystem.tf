# The file system experiment: the same files copied to /tmp, from S3 or from a mounted file system. The network, the file system
# and the function that fills it don't depend on `storage`, which only moves the measured function, so that a sweep over storages
# doesn't recreate the file system.

locals {
  is_filesystem = var.experiment == "filesystem"

  # Small files have 10, 20, ... 100 KB in turn.
  small_files_bytes = floor(var.small_files / 10) * 550000 + 5000 * (var.small_files % 10) * (var.small_files % 10 + 1)
  # /tmp holds one data set at a time.
  filesystem_in_tmp = {
    mb   = max(var.large_file_mb, ceil(local.small_files_bytes / 1048576))
    what = "the larger of large_file_mb and the small files' ${ceil(local.small_files_bytes / 1048576)} MB"
  }

  # The meaning of null; mounts have only one method.
  read_method = local.is_mounted ? "copy" : coalesce(var.read_method, "download_file")

  # Where Lambda mounts a file system.
  mount_path = "/mnt/data"

  # Keys in the bucket, and folders below the mount path, begin with these.
  data_prefixes = ["large/", "small/"]
  read_the_data = [
    {
      Sid      = "ReadTheData"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for prefix in local.data_prefixes : "${local.data_bucket_arn}/${prefix}*"]
    },
    {
      Sid       = "ListTheData"
      Effect    = "Allow"
      Action    = "s3:ListBucket"
      Resource  = local.data_bucket_arn
      Condition = { StringLike = { "s3:prefix" = [for prefix in local.data_prefixes : "${prefix}*"] } }
    },
  ]

  # Storages that can be mounted. Their names don't depend on the mounts, or every change of those would read the seeding
  # functions' code again.
  mountable = toset(!local.is_filesystem ? [] : var.with_s3files ? ["efs", "s3files"] : ["efs"])

  mounts = {
    efs = {
      service          = "elasticfilesystem"
      arn              = one(module.file_system[*].arn)
      access_point_arn = one(module.file_system[*].access_point_arn)
    }
    s3files = {
      service          = "s3files"
      arn              = one(module.s3_files[*].arn)
      access_point_arn = one(module.s3_files[*].access_point_arn)
    }
  }

  # To mount is to read; the measured function has no other permission.
  mount_actions = { read = ["ClientMount"], write = ["ClientMount", "ClientWrite"] }
  mount_statements = {
    for name, mount in local.mounts : name => {
      for use, actions in local.mount_actions : use => {
        Sid       = "Mount"
        Effect    = "Allow"
        Action    = [for action in actions : "${mount.service}:${action}"]
        Resource  = mount.arn
        Condition = { StringEquals = { "${mount.service}:AccessPointArn" = mount.access_point_arn } }
      }
    }
  }

  # Lambda reads a file of S3 Files from the bucket if permitted, and otherwise silently through the file system. Provider 6.34
  # lacks the switch for it, S3FilesConfig.
  read_directly = {
    Sid      = "ReadDirectly"
    Effect   = "Allow"
    Action   = ["s3:GetObject", "s3:GetObjectVersion"]
    Resource = "arn:${local.partition}:s3:::${local.s3files_bucket_name}/*"
  }
  s3files_bucket_name = "${var.prefix}-s3files-${local.account_id}-${var.region}"

  is_mounted = contains(["efs", "s3files"], var.storage)

  in_the_network = {
    subnet_ids         = one(module.network[*].subnet_ids)
    security_group_ids = module.mount_targets[*].inside_security_group_id
  }

  filesystem = {
    description  = "One timed copy a message, one record a log line."
    program_file = null
    zip_name     = "filesystem"
    handler      = "filesystem.handler.handler"
    runtime      = "python3.12"
    network      = local.in_the_network
    in_network   = var.storage != "s3"
    file_system  = one([for name, mount in local.mounts : { access_point_arn = mount.access_point_arn, mount_path = local.mount_path } if name == var.storage])
    statements = {
      s3        = local.read_the_data
      s3_in_vpc = local.read_the_data
      efs       = [local.mount_statements.efs.read]
      s3files   = concat([local.mount_statements.s3files.read], [for statement in [local.read_directly] : statement if var.direct_s3_read == "AUTO"])
    }[var.storage]

    environment = {
      STORAGE     = var.storage
      READ_METHOD = local.read_method
      MOUNT_PATH  = local.is_mounted ? local.mount_path : ""
      CACHE       = var.cache
    }
  }
}

module "network" {
  source = "./modules/network"
  count  = local.is_filesystem ? 1 : 0

  name         = local.name
  region       = var.region
  subnet_count = var.subnet_count
  inside       = { name = "functions", description = "Functions: to S3 and to mount targets." }
  bucket_arns  = concat([local.data_bucket_arn], var.with_s3files ? ["arn:${local.partition}:s3:::${local.s3files_bucket_name}"] : [])
  s3_actions   = ["s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"]
}

# Through SQS the function brings a failed message back after seconds; by itself it would come back after six times timeout_s.
module "sqs_endpoint" {
  source = "./modules/endpoints"
  count  = local.is_filesystem ? 1 : 0

  name                  = local.name
  region                = var.region
  vpc_id                = module.network[0].vpc_id
  subnet_ids            = [module.network[0].subnet_ids[0]] # billed by the zone
  inside_security_group = module.network[0].inside_security_group
  services              = ["sqs"]
}

module "mount_targets" {
  source = "./modules/mount_targets"
  count  = local.is_filesystem ? 1 : 0

  name                  = local.name
  vpc_id                = module.network[0].vpc_id
  inside_security_group = module.network[0].inside_security_group
}

module "file_system" {
  source = "./modules/file_system"
  count  = local.is_filesystem ? 1 : 0

  name              = local.name
  throughput_mode   = var.throughput_mode
  subnet_ids        = module.network[0].subnet_ids
  security_group_id = module.mount_targets[0].security_group_id
}

module "s3_files" {
  source = "./modules/s3_files"
  count  = local.is_filesystem && var.with_s3files ? 1 : 0

  name              = "${local.name}-s3files"
  bucket_name       = local.s3files_bucket_name
  role_name         = "${local.name}-s3files-${var.region}"
  partition         = local.partition
  region            = var.region
  account_id        = local.account_id
  subnet_ids        = module.network[0].subnet_ids
  security_group_id = module.mount_targets[0].security_group_id
}

# Copies the data set from the bucket to a file system. It is only invoked alone, and its size doesn't depend on the measured
# function's.
module "placing" {
  source   = "./modules/worker"
  for_each = local.mountable

  name                 = "${local.name}-placing-${each.key}"
  description          = "Copies the data set from the bucket to the file system and checks it."
  account_id           = local.account_id
  role_name            = "${local.name}-placing-${each.key}-${var.region}"
  source_folders       = local.source_folders
  zip_file             = "${path.root}/.build/filesystem-placing-${each.key}.zip"
  handler              = "filesystem.seeding.handler"
  runtime              = "python3.12"
  architecture         = local.architecture
  memory_size_mb       = 1769 # one whole processor
  timeout_s            = 900
  ephemeral_storage_mb = 512
  statements           = concat(local.read_the_data, [local.mount_statements[each.key].write])
  network              = local.in_the_network
  file_system          = { access_point_arn = local.mounts[each.key].access_point_arn, mount_path = local.mount_path }
  log_retention_days   = var.log_retention_days

  environment = {
    BUCKET_NAME = local.data_bucket_name
    STORAGE     = each.key
    MOUNT_PATH  = local.mount_path
  }
}
