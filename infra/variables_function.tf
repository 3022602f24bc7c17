# Variables of the function experiment alone.

variable "package" {
  type        = string
  description = "Path of your function's code, a folder, .zip or .jar, deployed as it is; a relative one begins at infra/."
  default     = null

  validation {
    condition = var.package == null ? var.experiment != "function" : (
      can(regex(local.rules.package.shared.archive_matches, var.package)) ? try(fileexists(var.package), false) : length(try(fileset(var.package, "**"), [])) > 0
    )
    error_message = "package = ${jsonencode(var.package)}: ${local.rules.package.rule}; experiment = function needs it."
  }

  validation {
    condition = var.package == null || var.runtime != "provided.al2023" ? true : (
      can(regex(local.rules.package.shared.archive_matches, var.package)) ? true : fileexists("${var.package}/bootstrap")
    )
    error_message = "package = ${jsonencode(var.package)}: must hold an executable file named bootstrap, which runtime = provided.al2023 starts."
  }
}

variable "handler" {
  type        = string
  description = "Your function's entry point as its runtime writes it, such as module.function; provided.al2023 reads it as _HANDLER."
  default     = "app.handler"
  nullable    = false

  validation {
    condition     = can(regex(local.rules.handler.matches, var.handler)) && length(var.handler) <= local.rules.handler.longest
    error_message = "handler = ${jsonencode(var.handler)}: ${local.rules.handler.rule}."
  }

  validation {
    condition     = !startswith(var.runtime, "python") || can(regex(local.rules.handler.shared.python_matches, var.handler))
    error_message = "handler = ${jsonencode(var.handler)}: ${local.rules.handler.shared.python_rule}."
  }
}

variable "runtime" {
  type        = string
  description = "Your function's runtime: Python, Node.js, Java, Ruby, .NET, or provided.al2023 (an executable named bootstrap)."
  default     = "python3.12"
  nullable    = false

  validation {
    condition     = contains(local.rules.runtime.choices, var.runtime)
    error_message = "runtime = ${jsonencode(var.runtime)}: ${local.rules.runtime.rule}."
  }
}

variable "policy_file" {
  type        = string
  description = "Path of a JSON policy whose statements the function's role gets; a relative one begins at infra/."
  default     = null

  validation {
    condition = var.policy_file == null ? true : alltrue(try([
      for statement in flatten([jsondecode(file(var.policy_file)).Statement]) :
      statement.Effect == "Deny" || !anytrue([for action in flatten([statement.Action]) : contains(local.rules.policy_file.shared.all_actions, action)])
    ], [false]))
    error_message = "policy_file = ${jsonencode(var.policy_file)}: ${local.rules.policy_file.rule}, and never allow all (*)."
  }
}

variable "environment" {
  type        = map(string)
  description = "Your function's environment variables."
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.environment) : can(regex(local.rules.environment.matches, name)) && !can(regex(local.rules.environment.never, name))])
    error_message = "environment = ${jsonencode(keys(var.environment))}: ${local.rules.environment.rule}."
  }
}

variable "layers" {
  type        = list(string)
  description = "ARNs of the layers that your function needs, at most 4."
  default     = []
  nullable    = false

  validation {
    condition     = length(var.layers) <= local.rules.layers.shared.most_layers && alltrue([for layer in var.layers : can(regex(local.rules.layers.matches, layer))])
    error_message = "layers = ${jsonencode(var.layers)}: ${local.rules.layers.rule}."
  }
}

variable "batch_size" {
  type        = number
  description = "Messages that one invocation of your function gets at most, 1 to 10000; above 10 batching_window_s is needed."
  default     = 1
  nullable    = false

  validation {
    condition = (
      var.batch_size >= local.rules.batch_size.least && var.batch_size <= local.rules.batch_size.most &&
      floor(var.batch_size) == var.batch_size
    )
    error_message = "batch_size = ${var.batch_size}: ${local.rules.batch_size.rule}."
  }

  validation {
    condition     = var.batch_size == 1 || var.experiment == "function"
    error_message = "batch_size = ${var.batch_size}: must be 1 without experiment = function, whose messages are one operation each."
  }

  # Lambda guide, "Creating and configuring an Amazon SQS event source mapping".
  validation {
    condition     = var.batch_size <= local.rules.batch_size.shared.without_window || var.batching_window_s > 0
    error_message = "batch_size = ${var.batch_size}: ${local.rules.batch_size.shared.window_rule}."
  }
}

variable "batching_window_s" {
  type        = number
  description = "Seconds that the trigger gathers messages for a batch, 0 to 300."
  default     = 0
  nullable    = false

  validation {
    condition = (
      var.batching_window_s >= local.rules.batching_window_s.least && var.batching_window_s <= local.rules.batching_window_s.most &&
      floor(var.batching_window_s) == var.batching_window_s
    )
    error_message = "batching_window_s = ${var.batching_window_s}: ${local.rules.batching_window_s.rule}."
  }

  validation {
    condition     = var.batching_window_s == 0 || var.experiment == "function"
    error_message = "batching_window_s = ${var.batching_window_s}: must be 0 without experiment = function."
  }
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets of yours in which the function runs; it needs a way to SQS from there (an endpoint or NAT)."
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for id in var.subnet_ids : can(regex(local.rules.subnet_ids.matches, id))])
    error_message = "subnet_ids = ${jsonencode(var.subnet_ids)}: ${local.rules.subnet_ids.rule}."
  }

  validation {
    condition     = length(var.subnet_ids) == 0 || var.experiment == "function"
    error_message = "subnet_ids = ${jsonencode(var.subnet_ids)}: must be left out without experiment = function."
  }
}

variable "security_group_ids" {
  type        = list(string)
  description = "Security groups of yours for the function in subnet_ids."
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for id in var.security_group_ids : can(regex(local.rules.security_group_ids.matches, id))])
    error_message = "security_group_ids = ${jsonencode(var.security_group_ids)}: ${local.rules.security_group_ids.rule}."
  }

  validation {
    condition     = (length(var.security_group_ids) > 0) == (length(var.subnet_ids) > 0)
    error_message = "security_group_ids = ${jsonencode(var.security_group_ids)}: needs subnet_ids, and they need it."
  }
}
