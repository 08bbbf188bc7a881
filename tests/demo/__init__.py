"""What `make demo` shows: the real command line on the sample handbook, or on a folder of your own."""
