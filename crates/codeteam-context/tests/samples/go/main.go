// Command shop serves the store.
package main

import (
	"fmt"
	"net/http"

	"example.com/shop/store"
)

var version = "dev"

type server struct {
	*store.Memory
	http.Handler
	name string `json:"name"`
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	item, err := s.Get(r.Context(), store.Key(r.URL.Path))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	fmt.Fprintln(w, item.Name)
}

func main() {
	s := &server{Memory: store.NewMemory(), name: version}
	http.ListenAndServe(":8080", s)
}
