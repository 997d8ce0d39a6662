"""The operators' verbs that are not in `operations` yet, one class for each noun; `services.control` has
them all."""
