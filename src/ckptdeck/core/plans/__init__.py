"""Pure planners: a survey in, a plan with a reason per item out. Nothing in here touches a file."""
