# The function experiment: the Go program stands between the user's code and Lambda's runtime API, times it, and writes a record
# for each message. With a managed runtime the package is the function, and the program in a layer starts the runtime
# (AWS_LAMBDA_EXEC_WRAPPER). provided.al2023 has no such wrapper: there the program is the function, and runs the bootstrap of the
# package, its layer.

locals {
  is_function     = var.experiment == "function"
  is_user_program = var.runtime == "provided.al2023"
  function_in_tmp = { mb = 0, what = "nothing" } # the handler's use of it is unknown
  user_package = {
    path       = coalesce(var.package, "none")
    is_archive = can(regex(local.rules.package.shared.archive_matches, coalesce(var.package, "none")))
    is_layer   = local.is_user_program
  }

  user_function = {
    description  = "The user's code, measured from outside, one record a message."
    program_file = local.copy_program_file
    zip_name     = "function-${local.architecture}"
    handler      = var.handler # the user's own runtime may read it on provided.al2023
    runtime      = var.runtime
    network      = length(var.subnet_ids) == 0 ? null : { subnet_ids = var.subnet_ids, security_group_ids = var.security_group_ids }
    in_network   = length(var.subnet_ids) > 0
    statements   = var.policy_file == null ? [] : flatten([jsondecode(file(var.policy_file)).Statement]) # a single statement may be without a list

    environment = merge(var.environment, local.is_user_program ? {} : { AWS_LAMBDA_EXEC_WRAPPER = "/opt/bootstrap" }, {
      EXPERIMENT            = var.experiment
      STAMPEDE_PACKAGE      = basename(local.user_package.path)
      STAMPEDE_RUNTIME      = var.runtime
      STAMPEDE_ARCHITECTURE = local.architecture

      STAMPEDE_BATCH_SIZE        = tostring(var.batch_size)
      STAMPEDE_BATCHING_WINDOW_S = tostring(var.batching_window_s)
    })
  }
}
