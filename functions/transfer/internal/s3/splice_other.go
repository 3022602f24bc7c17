//go:build !linux

package s3

const canSplice = false
