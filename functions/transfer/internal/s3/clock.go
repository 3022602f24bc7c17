package s3

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clock is S3's time, by which requests are signed: this machine's, and what S3 corrected it by.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// correct sets the clock by the Date of an answer; false where the request had been signed at that time already, so that another one
// would fail too.
func (c *clock) correct(date, signed string) bool {
	told, err := http.ParseTime(date)
	at, wrong := time.Parse("20060102T150405Z", signed)
	if err != nil || wrong != nil || told.Sub(at).Abs() < time.Minute {
		return false
	}
	c.offset.Store(int64(time.Until(told)))
	return true
}
