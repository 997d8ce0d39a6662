// Package contract is the processor's side of the contract, over whatever broker.
package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// A Message is what the contract needs of a message of any broker.
type Message struct {
	Header      func(name string) string // "" where it is missing
	Body        []byte
	Send        func(destination string, body []byte) error // returns when the broker has confirmed
	Keep        func() error                                // tells the broker that the work goes on
	Acknowledge func() error
}

var works sync.Map // What cancels the attempts in progress, by run key and fence.

// Process does what a message asks for, replies, and acknowledges. After an error the broker delivers the message again.
func Process(message Message) error {
	said := func(name string) string { return message.Header("fencepost-" + name) }
	runKey, fence := said("run-key"), said("fence")
	attempt, err := strconv.Atoi(said("attempt"))
	if err != nil {
		return err
	}
	reply := func(outcome string, more map[string]any) error {
		if said("reply-to") == "" {
			return nil
		}
		form := map[string]any{"run_key": runKey, "attempt": attempt, "fence": fence, "outcome": outcome}
		for name, value := range more {
			form[name] = value
		}
		body, _ := json.Marshal(form)
		return message.Send(said("reply-to"), body)
	}

	acknowledge := message.Acknowledge
	if said("delivery") == "at_most_once" {
		if err := acknowledge(); err != nil {
			return err
		}
		acknowledge = func() error { return nil }
	}
	if err := reply("started", nil); err != nil {
		return err
	}
	fmt.Println("started", runKey, attempt)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	works.Store(runKey+" "+fence, cancel)
	if limit := seconds(said("timeout"), 0); limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(errors.New("TimedOut: it took too long")) }).Stop()
	}
	go func() {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(seconds(said("heartbeat-every"), 5*time.Second)):
				_, _ = reply("heartbeat", nil), message.Keep() // One that is lost is followed by the next.
			}
		}
	}()
	result, err := job(ctx, message.Body, attempt)
	works.Delete(runKey + " " + fence)
	cancel(nil) // No more heartbeats.
	outcome := "succeeded"
	switch {
	case err == nil:
		err = reply("succeeded", map[string]any{"result": result})
	case err.Error() == "lost" || err.Error() == "late": // The run is no longer ours: nothing is said of it.
		outcome, err = err.Error(), nil
	default:
		outcome = err.Error()
		err = reply("failed", map[string]any{"error": outcome, "retry_after": 0.1})
	}
	if err == nil {
		err = acknowledge() // Only now: a processor that dies before leaves the message to another one.
	}
	fmt.Println(outcome, runKey, attempt)
	return err
}

// Stop ends the attempt that an announcement is about, where it is one of ours.
func Stop(announcement []byte) {
	said := struct {
		RunKey string `json:"run_key"`
		Fence  int64  `json:"fence"`
		Why    string `json:"why"`
	}{}
	if json.Unmarshal(announcement, &said) == nil {
		if cancel, ok := works.Load(fmt.Sprint(said.RunKey, " ", said.Fence)); ok {
			cancel.(context.CancelCauseFunc)(errors.New(said.Why))
		}
	}
}

func seconds(text string, otherwise time.Duration) time.Duration {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return otherwise
	}
	return time.Duration(number * float64(time.Second))
}
