// Pins where the Terraform providers come from when the Terraform Registry doesn't answer.
// Only ever downloaded with `go mod download`, never imported: each provider is built from a filtered copy of its
// own module, with its own go.sum, so that nothing else has to be listed here.
module stampede/emulator/providers

go 1.21

require (
	github.com/hashicorp/terraform-provider-aws v0.0.0
	github.com/terraform-providers/terraform-provider-archive v1.3.0
)

// aws 6.34.0. The provider's own repository isn't published as an importable module; this mirror fork keeps its main.go.
replace github.com/hashicorp/terraform-provider-aws => github.com/upbound/terraform-provider-aws v0.0.0-20260305123303-f7691456b787
