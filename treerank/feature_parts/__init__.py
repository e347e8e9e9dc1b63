"""Feature parts: functions from a document to one or more numbers, of any kind."""
