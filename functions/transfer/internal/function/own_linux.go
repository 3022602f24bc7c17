package function

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"syscall"
)

const byFamily = 20 // SOCK_DIAG_BY_FAMILY, sock_diag(7)

// diagRequest asks the kernel for one TCP socket of IPv4: struct nlmsghdr and struct inet_diag_req_v2.
type diagRequest struct {
	syscall.NlMsghdr
	Family, Protocol, Ext, _ byte
	States                   uint32
	Ports                    [4]byte // in network order, as the addresses are
	Source, Destination      [16]byte
	Interface                uint32
	Cookie                   [2]uint32
}

// isOfThisUser says whether this user's process is at the other end of a connection on loopback; also where the system doesn't
// tell. /proc/net/tcp tells it too, but takes milliseconds where the table is large.
func isOfThisUser(connection net.Conn) bool {
	own, isTCP := connection.LocalAddr().(*net.TCPAddr)
	peer, _ := connection.RemoteAddr().(*net.TCPAddr)
	if !isTCP || peer == nil || own.IP.To4() == nil || peer.IP.To4() == nil {
		return true
	}
	user, found, err := ownerOf(peer, own)
	if err == nil && !found {
		_, found, err = ownerOf(own, peer)
		return err != nil || !found // it knows this end and not the other one: that has gone
	}
	return err != nil || user == os.Geteuid()
}

// ownerOf is the user whose socket is at an end of a connection. It isn't found where no process has it any more.
func ownerOf(end, other *net.TCPAddr) (user int, found bool, err error) {
	kernel, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, syscall.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = syscall.Close(kernel) }()
	request := diagRequest{
		NlMsghdr: syscall.NlMsghdr{Len: 72, Type: byFamily, Flags: syscall.NLM_F_REQUEST},
		Family:   syscall.AF_INET, Protocol: syscall.IPPROTO_TCP,
		States: ^uint32(0), Cookie: [2]uint32{^uint32(0), ^uint32(0)},
	}
	binary.BigEndian.PutUint16(request.Ports[:2], uint16(end.Port))
	binary.BigEndian.PutUint16(request.Ports[2:], uint16(other.Port))
	copy(request.Source[:], end.IP.To4())
	copy(request.Destination[:], other.IP.To4())
	var message bytes.Buffer
	_ = binary.Write(&message, binary.NativeEndian, request) // into memory
	if err := syscall.Sendto(kernel, message.Bytes(), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, false, err
	}
	answer := make([]byte, 4096)
	size, _, err := syscall.Recvfrom(kernel, answer, 0)
	if err != nil || size < 88 || binary.NativeEndian.Uint16(answer[4:]) != byFamily {
		return 0, false, err
	}
	inode := binary.NativeEndian.Uint32(answer[84:])
	return int(binary.NativeEndian.Uint32(answer[80:])), inode != 0, nil
}
