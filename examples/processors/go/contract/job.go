package contract

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// job is the work itself. It fails in the attempts before busy_until.
func job(ctx context.Context, body []byte, attempt int) (map[string]int, error) {
	given := struct {
		Image     int     `json:"image"`
		TakesS    float64 `json:"takes_s"`
		BusyUntil int     `json:"busy_until"`
	}{}
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(time.Duration(given.TakesS * float64(time.Second))):
	}
	if attempt < given.BusyUntil {
		return nil, errors.New("Busy: no room for the image")
	}
	return map[string]int{"image": given.Image, "width": 100}, nil
}
