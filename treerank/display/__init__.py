"""Display: charts, tables and sentences by which results show themselves."""
