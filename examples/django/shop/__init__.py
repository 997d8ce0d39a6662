"""A Django project with one model, one page and one job."""
