"""The people's verbs, one desk for each kind of thing. `services.control` has them all."""
