variable "name" {
  type        = string
  description = "Name of the workgroup."
}

variable "database_name" {
  type        = string
  description = "Name of the tables' database: no hyphens, which SQL would take for minus signs."
}

variable "results_bucket_name" {
  type        = string
  description = "Name of the bucket of results."
}

variable "scan_limit_mb" {
  type        = number
  description = "The most that one query may scan, in MiB; beyond it, Athena cancels the query."
}

variable "tables" {
  type        = map(string)
  description = "Where each table's objects are: s3://bucket/folder/."
}

variable "columns" {
  type = list(object({
    name = string
    type = string
  }))
  description = "What a line of every table has, by the keys of its JSON."
}

variable "partition_keys" {
  type        = list(string)
  description = "The folders below a table's, each as key=value/, in their order."
}

variable "account_id" {
  type        = string
  description = "The account of all resources."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}
