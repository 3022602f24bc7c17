package function

import (
	"encoding/binary"
	"math"
	"net"
	"os"
	"syscall"
)

const byFamily = 20 // SOCK_DIAG_BY_FAMILY, sock_diag(7)

// isOfThisUser says whether this user's process is at the other end of a connection on loopback; also where the system doesn't
// tell. /proc/net/tcp tells it too, but takes milliseconds where the table is large.
func isOfThisUser(connection net.Conn) bool {
	own, isTCP := connection.LocalAddr().(*net.TCPAddr)
	peer, _ := connection.RemoteAddr().(*net.TCPAddr)
	if !isTCP || peer == nil || own.IP.To4() == nil || peer.IP.To4() == nil {
		return true
	}
	user, exists, err := ownerOf(peer, own)
	if err == nil && !exists {
		_, exists, err = ownerOf(own, peer)
		return err != nil || !exists // it knows this end and not the other one: that has gone
	}
	return err != nil || user == os.Geteuid()
}

// ownerOf is the user whose socket is at an end of a connection of IPv4. It doesn't exist where no process has it any more.
func ownerOf(end, other *net.TCPAddr) (user int, exists bool, err error) {
	kernel, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, syscall.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = syscall.Close(kernel) }()
	message := make([]byte, 4096)
	native, network := binary.NativeEndian, binary.BigEndian
	native.PutUint32(message, 72) // struct nlmsghdr: length, type, flags
	native.PutUint16(message[4:], byFamily)
	native.PutUint16(message[6:], syscall.NLM_F_REQUEST)
	message[16], message[17] = syscall.AF_INET, syscall.IPPROTO_TCP // struct inet_diag_req_v2
	native.PutUint32(message[20:], math.MaxUint32)                  // in any state
	network.PutUint16(message[24:], uint16(end.Port))
	network.PutUint16(message[26:], uint16(other.Port))
	copy(message[28:], end.IP.To4())
	copy(message[44:], other.IP.To4())
	native.PutUint64(message[64:], math.MaxUint64) // whatever its cookie
	if err := syscall.Sendto(kernel, message[:72], 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, false, err
	}
	size, _, err := syscall.Recvfrom(kernel, message, 0)
	if err != nil || size < 88 || native.Uint16(message[4:]) != byFamily {
		return 0, false, err
	}
	owner, inode := native.Uint32(message[80:]), native.Uint32(message[84:])
	return int(owner), inode != 0, nil
}
