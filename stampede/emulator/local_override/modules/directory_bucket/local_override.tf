output "name" {
  value = local.name
}
