"""The task store, in SQLite or PostgreSQL: functions over one connection, one module per family of tables."""
