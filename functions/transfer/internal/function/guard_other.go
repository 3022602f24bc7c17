//go:build !linux

package function

import "net"

// isOfThisUser isn't known.
func isOfThisUser(net.Conn) bool { return true }
