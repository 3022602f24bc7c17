# The function experiment: the user's package is deployed as it is, and Stampede's wrapper, a layer, runs its handler, times it and
# writes a record of each message.

locals {
  is_function = var.experiment == "function"

  function_in_tmp = { mb = 0, what = "nothing" } # what the handler puts there isn't known

  # One statement may stand without the list.
  user_statements = var.policy_file == null ? [] : flatten([jsondecode(file(var.policy_file)).Statement])

  user_package = {
    path         = coalesce(var.package, "none")
    wrapper_file = "${path.root}/../functions/function/stampede_wrapper.py"
  }

  user_function = {
    description  = "The user's handler in Stampede's wrapper, one record a message."
    program_file = null
    layer_folder = null
    zip_name     = "function"
    handler      = "stampede_wrapper.handler"
    runtime      = var.runtime
    network      = null
    in_network   = false
    file_system  = null
    statements   = local.user_statements

    environment = merge(var.environment, {
      STAMPEDE_HANDLER      = var.handler
      STAMPEDE_PACKAGE      = basename(local.user_package.path)
      STAMPEDE_RUNTIME      = var.runtime
      STAMPEDE_ARCHITECTURE = local.architecture
    })
  }
}
