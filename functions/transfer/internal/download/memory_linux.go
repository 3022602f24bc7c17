package download

import "syscall"

// reserve maps memory outside of Go's heap: the collector would otherwise let the heap grow to twice the object. Huge pages
// aren't asked for: they save 0.3 CPU-s a GiB where the kernel has them ready, but where memory is fragmented it first
// compacts it, which took up to 2.5 CPU-s and would pass for a slow download.
func reserve(bytes int64) ([]byte, error) {
	if bytes == 0 {
		return nil, nil
	}
	return syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

func release(whole []byte) error {
	if whole == nil {
		return nil
	}
	return syscall.Munmap(whole)
}
