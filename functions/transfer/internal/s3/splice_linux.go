package s3

const canSplice = true
