output "workgroup_name" {
  description = "Name of the workgroup."
  value       = aws_athena_workgroup.this.name
}

output "database_name" {
  description = "Name of the tables' database, known once it has them."
  value       = aws_glue_catalog_database.this.name
  depends_on  = [aws_glue_catalog_table.objects]
}
