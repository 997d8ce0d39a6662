"""What operations answer with, as typed documents. The names in them are promises: scripts read them from
`--json`, programs from the API, and the command line shows people what they say."""
