// A processor over NATS, with nats.go. Usage: go run ./over_nats nats://localhost thumbs
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"processors/contract"
)

const (
	atOnce  = 4
	ackWait = 30 * time.Second
	wait    = time.Second
)

func main() {
	url, destination := os.Args[1], os.Args[2]
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, err := nats.Connect(url)
	must(err)
	defer client.Close()
	js, err := jetstream.New(client)
	must(err)
	_, err = client.Subscribe("fencepost.announcements.fencepost.control.>", func(said *nats.Msg) { contract.Stop(said.Data) })
	must(err)
	stream, err := js.StreamNameBySubject(stopping, destination)
	must(err)
	name := "fencepost-" + strings.NewReplacer(".", "=", "/", "+").Replace(destination)
	config := jetstream.ConsumerConfig{Durable: name, FilterSubject: destination, AckWait: ackWait}
	consumer, err := js.CreateOrUpdateConsumer(stopping, stream, config)
	must(err)
	fmt.Println("ready")
	var lanes sync.WaitGroup
	for range atOnce {
		lanes.Go(func() { // One message after the other.
			for stopping.Err() == nil {
				message, err := consumer.Next(jetstream.FetchMaxWait(wait))
				if err == nil {
					must(process(js, message))
				}
			}
		})
	}
	lanes.Wait()
}

func process(js jetstream.JetStream, message jetstream.Msg) error {
	return contract.Process(contract.Message{
		Header: message.Headers().Get,
		Body:   message.Data(),
		Send: func(destination string, body []byte) error {
			_, err := js.Publish(context.Background(), destination, body)
			return err
		},
		Keep:        message.InProgress,
		Acknowledge: func() error { return message.DoubleAck(context.Background()) },
	})
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
