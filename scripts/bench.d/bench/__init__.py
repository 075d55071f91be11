"""What all measurements share: what a budget is, how rounds are judged, how the page is written."""
