"""The verbs: every question and every change that people and programs have, each said once.

An operation knows what is asked and answered, who may ask, and where it stands in the API. The command line
carries it out by itself, or has a server do it (`--server`); the web is made of all of them.
"""
