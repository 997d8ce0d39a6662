"""What Fencepost reports about itself: events, and how they are written."""
