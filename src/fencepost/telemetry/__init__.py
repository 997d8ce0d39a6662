"""What the house says about itself: events, and how they are written."""
