// Package ident makes identifiers.
package ident

import (
	"crypto/rand"
	"encoding/hex"
)

// New returns 32 random hexadecimal digits.
func New() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:]) // crypto/rand never fails: it ends the process instead
	return hex.EncodeToString(bytes[:])
}
