"""Pictures of numbers, as SVG made on the server: pure functions from values to markup.

Sizes are attributes, colours are classes of the style sheet, every mark has a `<title>`, and each picture
says in words what it shows.
"""
