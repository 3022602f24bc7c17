package record

import (
	"context"
	"io"
	"os"
)

type deliveryKey struct{}

type delivery struct {
	attempt int64
	log     io.Writer
}

// WithDelivery tells an operation which attempt at its message this is, and where lines go that it writes before its record.
func WithDelivery(ctx context.Context, attempt int64, log io.Writer) context.Context {
	return context.WithValue(ctx, deliveryKey{}, delivery{attempt, log})
}

// DeliveryOf returns what WithDelivery told; otherwise the first attempt and stdout, which Lambda logs.
func DeliveryOf(ctx context.Context) (attempt int64, log io.Writer) {
	if told, ok := ctx.Value(deliveryKey{}).(delivery); ok {
		return told.attempt, told.log
	}
	return 1, os.Stdout
}
