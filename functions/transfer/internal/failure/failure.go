// Package failure is the vocabulary of error_type, as in functions/common/failures.py. Saved
// queries group by these words. functions/agreed/failures.json lists them all.
package failure

import (
	"errors"
	"fmt"
	"syscall"
)

// The words of error_type that this program can write.
const (
	WorkOrder               = "WorkOrderError"
	Settings                = "SettingsError"
	StartTooLate            = "StartTooLate"
	DeadlineExceeded        = "DeadlineExceeded"
	PreviousDownloadRunning = "PreviousDownloadRunning"
	NoSuchKey               = "NoSuchKey"
	AccessDenied            = "AccessDenied"
	SlowDown                = "SlowDown"
	S3                      = "S3Error"
	NoConnection            = "NoConnection"
	ConnectionCut           = "ConnectionCut"
	ReadTimeout             = "ReadTimeout"
	NoCredentials           = "NoCredentials"
	ObjectChanged           = "ObjectChanged"
	SizeMismatch            = "SizeMismatch"
	ChecksumMismatch        = "ChecksumMismatch"
	NoData                  = "NoData"
	NoSuchBucket            = "NoSuchBucket"
	ObjectTooLarge          = "ObjectTooLarge"
	ObjectArchived          = "ObjectArchived"
	ObjectDiffers           = "ObjectDiffers"
	ObjectNotComparable     = "ObjectNotComparable"
	DestinationNotEmpty     = "DestinationNotEmpty"
	MalformedRow            = "MalformedRow"
	RowRefused              = "RowRefused"
	NotBegun                = "NotBegun"
	NoSpace                 = "NoSpace"
	NoMemory                = "NoMemory"
	File                    = "FileError"
	HandlerError            = "HandlerError"
	HandlerExited           = "HandlerExited"
	HandlerTimedOut         = "HandlerTimedOut"
	HandlerMissing          = "HandlerMissing"
	InvalidResponse         = "InvalidResponse"
	ResponseTooLarge        = "ResponseTooLarge"
	PartialFailure          = "PartialFailure"
	Unexpected              = "UnexpectedError"
)

// Error is a failure with its error_type and a message of one line.
type Error struct {
	Type      string
	Message   string
	Temporary bool // the same request may succeed later
	Throttled bool // S3 itself answered SlowDown, not a proxy
	Expired   bool // renewed credentials may help: the next attempt needs no pause
}

func (e *Error) Error() string { return e.Message }

// New makes a failure that isn't retried.
func New(kind, format string, values ...any) *Error {
	return &Error{Type: kind, Message: fmt.Sprintf(format, values...)}
}

// Passing makes a temporary failure.
func Passing(kind, format string, values ...any) *Error {
	return &Error{Type: kind, Message: fmt.Sprintf(format, values...), Temporary: true}
}

// OfFile turns an error of a file into a failure.
func OfFile(err error) *Error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return New(NoSpace, "the temporary folder is full: raise ephemeral_storage_mb above the "+
			"total size of files written at once")
	}
	return New(File, "%v", err)
}

// Describe returns the error_type and error_message of any error.
func Describe(err error) (kind, message string) {
	var known *Error
	if errors.As(err, &known) {
		return known.Type, known.Message
	}
	return Unexpected, fmt.Sprintf("%T: %v", err, err)
}
