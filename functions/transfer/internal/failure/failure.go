// Package failure is the vocabulary of error_type: what can go wrong with one message, in the words
// of functions/common/failures.py. Saved queries group by these words;
// functions/agreed/failures.json has them all.
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

// Error is a failure with its word and one line for the reader. Temporary says that the same
// request may succeed when it is sent again.
type Error struct {
	Type      string
	Message   string
	Temporary bool
	// Throttled says that S3 itself answered SlowDown, and nobody in between.
	Throttled bool
	// Expired says that the reason goes with renewed credentials: the next try needs no pause.
	Expired bool
}

func (e *Error) Error() string { return e.Message }

// New makes a failure that no repetition mends.
func New(kind, format string, values ...any) *Error {
	return &Error{Type: kind, Message: fmt.Sprintf(format, values...)}
}

// Passing makes a failure that may be gone at the next try.
func Passing(kind, format string, values ...any) *Error {
	return &Error{Type: kind, Message: fmt.Sprintf(format, values...), Temporary: true}
}

// OfFile names what went wrong with a file of ours.
func OfFile(err error) *Error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return New(NoSpace,
			"the temporary folder is full: raise ephemeral_storage_mb above the total size of files written at once")
	}
	return New(File, "%v", err)
}

// Describe returns error_type and error_message of whatever a message failed with.
func Describe(err error) (kind, message string) {
	var known *Error
	if errors.As(err, &known) {
		return known.Type, known.Message
	}
	return Unexpected, fmt.Sprintf("%T: %v", err, err)
}
