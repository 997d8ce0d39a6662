"""Django finds the commands of an app here."""
