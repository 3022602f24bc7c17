// Pins where OpenTofu comes from on a machine with neither `terraform` nor `tofu`.
// Only ever downloaded with `go mod download`: it is built in a copy of its own module, whose go.mod replaces hcl/v2 by
// OpenTofu's own (for which `go install` refuses it) and whose go.sum pins everything else.
module stampede/emulator/opentofu

go 1.21

require github.com/opentofu/opentofu v1.10.7
