package function

import (
	"encoding/binary"
	"math"
	"net"
	"os"
	"syscall"
)

// isOfThisUser says whether this user's process is at the other end of a connection of IPv4 on loopback; also where the kernel
// doesn't tell, not even of this end.
func isOfThisUser(connection net.Conn) bool {
	own, peer := connection.LocalAddr().(*net.TCPAddr), connection.RemoteAddr().(*net.TCPAddr)
	return ownerOf(peer, own) == os.Geteuid() || ownerOf(own, peer) != os.Geteuid()
}

// ownerOf is the user whose socket is at an end of a connection, by sock_diag(7); -1 where no process has it any more, and where
// the kernel doesn't tell. /proc/net/tcp tells it too, but takes milliseconds where the table is large.
func ownerOf(end, other *net.TCPAddr) (user int) {
	const byFamily, asked, answered = 20, 72, 88 // SOCK_DIAG_BY_FAMILY, and the sizes of what is said
	kernel, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, syscall.NETLINK_INET_DIAG)
	if err != nil {
		return -1
	}
	defer func() { _ = syscall.Close(kernel) }()
	message, native, network := make([]byte, 4096), binary.NativeEndian, binary.BigEndian
	native.PutUint32(message, asked) // struct nlmsghdr: length, type, flags
	native.PutUint16(message[4:], byFamily)
	native.PutUint16(message[6:], syscall.NLM_F_REQUEST)
	message[16], message[17] = syscall.AF_INET, syscall.IPPROTO_TCP // struct inet_diag_req_v2
	native.PutUint32(message[20:], math.MaxUint32)                  // in any state
	network.PutUint16(message[24:], uint16(end.Port))
	network.PutUint16(message[26:], uint16(other.Port))
	copy(message[28:], end.IP.To4())
	copy(message[44:], other.IP.To4())
	native.PutUint64(message[64:], math.MaxUint64) // whatever its cookie
	if syscall.Sendto(kernel, message[:asked], 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}) != nil {
		return -1
	}
	size, _, err := syscall.Recvfrom(kernel, message, 0)
	isOwned := err == nil && size >= answered && native.Uint16(message[4:]) == byFamily && native.Uint32(message[84:]) != 0 // its inode
	if !isOwned {
		return -1
	}
	return int(native.Uint32(message[80:]))
}
