// An assembly file, though empty, lets queue.go declare functions without bodies.
