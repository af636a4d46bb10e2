"""Pictures as SVG that scales with the page. Every part has a letter or a number: colour is never alone."""
