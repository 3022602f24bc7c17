# The function experiment: the user's package is deployed as it is, and Stampede's wrapper, a layer, runs its handler, times it and
# writes a record of each message. For provided.al2023, which has no handlers, the package is the layer, and the function is the Go
# program, which runs its bootstrap and stands between it and Lambda's runtime API.

locals {
  is_function     = var.experiment == "function"
  is_user_program = var.runtime == "provided.al2023"
  function_in_tmp = { mb = 0, what = "nothing" } # what the handler puts there isn't known
  user_package = {
    path         = coalesce(var.package, "none")
    wrapper_file = "${path.root}/../functions/function/stampede_wrapper.py"
  }

  user_function = {
    description  = "The user's code, measured from outside, one record a message."
    program_file = local.is_user_program ? local.copy_program_file : null
    zip_name     = local.is_user_program ? "function-${local.architecture}" : "function"
    handler      = local.is_user_program ? var.handler : "stampede_wrapper.handler" # a runtime of the user's own may read it
    runtime      = var.runtime
    statements   = var.policy_file == null ? [] : flatten([jsondecode(file(var.policy_file)).Statement]) # one may stand without a list

    environment = merge(var.environment, local.is_user_program ? { EXPERIMENT = var.experiment } : {}, {
      STAMPEDE_HANDLER      = var.handler
      STAMPEDE_PACKAGE      = basename(local.user_package.path)
      STAMPEDE_RUNTIME      = var.runtime
      STAMPEDE_ARCHITECTURE = local.architecture
    })
  }
}
