"""What a run tells: gates and their findings, the run folder, report.json, report.html and the terminal."""
