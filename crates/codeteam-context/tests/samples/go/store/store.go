// Package store keeps items.
package store

import (
	"context"
	"errors"
	"sync"
)

// ErrNotFound says that there is no such item.
// It is never wrapped.
var ErrNotFound = errors.New("not found")

const (
	// MaxItems is how many there may be.
	MaxItems = 100
	first, second = iota, "two"
)

// Key names an item.
type Key string

type Item struct {
	Name  string
	Price int // in cents
}

type (
	// Store is what keeps items.
	Store interface {
		Get(ctx context.Context, key Key) (Item, error)
		Put(
			ctx context.Context,
			key Key,
			item Item,
		) error
		comparable
	}
	Alias = Item
)

// Memory keeps items in memory.
type Memory struct {
	mu    sync.Mutex
	items map[Key]Item
}

// NewMemory makes one.
func NewMemory() *Memory {
	return &Memory{items: make(map[Key]Item)}
}

// Get returns an item.
func (m *Memory) Get(ctx context.Context, key Key) (Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok {
		return Item{}, ErrNotFound
	}
	return item, nil
}

func (m *Memory) Put(ctx context.Context, key Key, item Item) error {
	locked(func() { m.items[key] = item })
	return nil
}

func locked(do func()) {
	do()
}

// Map applies a function to all.
func Map[K comparable, V any](in map[K]V, apply func(V) V) map[K]V {
	out := make(map[K]V, len(in))
	for key, value := range in {
		out[key] = apply(value)
	}
	return out
}
