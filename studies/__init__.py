"""Studies of the diagnosis over a folder of cases with known answers: how well it is calibrated, how firm it stands."""
